"""Write the log: one JSON object a line on standard output, without content and without secrets."""

import logging
import sys
import traceback
from types import TracebackType

import structlog


def configure_logging(level: str) -> None:
    """Send our events, and the warnings of libraries, to standard output as JSON."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level.upper()),
        logger_factory=structlog.WriteLoggerFactory(),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(processors=_library_processors()))
    root = logging.getLogger()
    if not root.handlers:
        root.addHandler(handler)
    root.setLevel(max(logging.WARNING, logging.getLevelNamesMapping()[level.upper()]))


def _library_processors() -> list[structlog.typing.Processor]:
    return [
        structlog.stdlib.ProcessorFormatter.remove_processors_meta,
        _describe_exception,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.JSONRenderer(),
    ]


def _describe_exception(_logger: object, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Tell of a library's exception what is told of ours."""
    exception = event.pop("exc_info", None)
    if isinstance(exception, tuple) and exception[1] is not None:
        event.update(describe_fault(exception[1]))
    return event


def describe_fault(error: BaseException) -> dict[str, object]:
    """Tell where an error came from. Its text is left out: it may repeat what a client sent."""
    kinds = []
    cause: BaseException | None = error
    while cause is not None:
        kinds.append(type(cause).__name__)
        cause = cause.__cause__
    return {"error": " from ".join(kinds), "frames": _frames(error.__traceback__)}


def _frames(trace: TracebackType | None) -> list[str]:
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(trace)][-12:]
