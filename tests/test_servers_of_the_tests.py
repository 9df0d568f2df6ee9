import asyncpg
import pytest
import redis.asyncio

pytestmark = pytest.mark.anyio


async def test_the_database_is_migrated_and_the_application_is_no_superuser(postgres_url: str) -> None:
    connection = await asyncpg.connect(postgres_url)
    try:
        assert await connection.fetchval("select count(*) from organizations") == 0
        assert await connection.fetchval("show is_superuser") == "off"
    finally:
        await connection.close()


async def test_redis_answers(redis_url: str) -> None:
    async with redis.asyncio.Redis.from_url(redis_url) as client:
        assert await client.set("one", 1)
        assert await client.get("one") == b"1"
