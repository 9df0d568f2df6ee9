"""Be what every door calls: `Engine` holds the verbs on memories, and the other verbs by noun (`engine.jobs`, ...)."""

from memoria.engine.engine import Engine
from memoria.engine.transactions import Clock, utc_now

__all__ = ["Clock", "Engine", "utc_now"]
