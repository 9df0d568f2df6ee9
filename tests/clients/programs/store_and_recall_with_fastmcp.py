"""Store and recall with fastmcp. Arguments: the URL and the key."""

import asyncio
import json
import sys

from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport


async def _main(url: str, key: str) -> None:
    transport = StreamableHttpTransport(url, headers={"Authorization": f"Bearer {key}"})
    async with Client(transport) as client:
        tools = [tool.name for tool in await client.list_tools()]
        stored = await client.call_tool("encode_memory", {"content": "We deploy on Fridays after 2pm."})
        recalled = await client.call_tool("recall_memories", {"query": "when do we deploy?"})
    recalled_ids = [result["id"] for result in recalled.structured_content["results"]]
    json.dump({"tools": tools, "stored": stored.structured_content["id"], "recalled": recalled_ids}, sys.stdout)


asyncio.run(_main(*sys.argv[1:]))
