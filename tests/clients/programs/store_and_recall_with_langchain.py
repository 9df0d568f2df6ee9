"""Store and recall with langchain-mcp-adapters. Arguments: the URL and the key."""

import asyncio
import json
import sys

from langchain_mcp_adapters.client import MultiServerMCPClient


def _body(answer: object) -> dict:
    # The adapter gives the text of the content blocks, in a list or by itself.
    blocks = answer if isinstance(answer, list) else [answer]
    text = blocks[0]["text"] if isinstance(blocks[0], dict) else blocks[0]
    return json.loads(text)


async def _main(url: str, key: str) -> None:
    connection = {"transport": "streamable_http", "url": url, "headers": {"Authorization": f"Bearer {key}"}}
    tools = {tool.name: tool for tool in await MultiServerMCPClient({"memoria": connection}).get_tools()}
    stored = _body(await tools["encode_memory"].ainvoke({"content": "We deploy on Fridays after 2pm."}))
    recalled = _body(await tools["recall_memories"].ainvoke({"query": "when do we deploy?"}))
    recalled_ids = [result["id"] for result in recalled["results"]]
    json.dump({"tools": list(tools), "stored": stored["id"], "recalled": recalled_ids}, sys.stdout)


asyncio.run(_main(*sys.argv[1:]))
