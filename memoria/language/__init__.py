"""Language models: the port that consolidation writes summaries through, and any OpenAI-compatible endpoint."""

from memoria.language.openai_compatible import LanguageEndpoint, OpenAICompatibleWriter
from memoria.language.port import LanguageUnavailableError, SummaryWriter

__all__ = ["LanguageEndpoint", "LanguageUnavailableError", "OpenAICompatibleWriter", "SummaryWriter"]
