"""A models.config as people have it, read past its mistakes. Pure."""

from shared.tfserving.model_config import ModelServerConfig
from shared.tfserving.reading import Reading


def read_models_file(text: str) -> Reading[ModelServerConfig]:
    """The file's models, and what is wrong with its form; never raises for any text."""
    raise NotImplementedError(text)
