"""The sections of the family and their metrics, in the order of tables."""

from importlib import import_module

from graphgauge.core.registry import section

for _name, _priority, _question in (
    ("reconstruction", "high", "how much of a real sample comes back when it is encoded and decoded"),
    (
        "diversity",
        "high",
        "how many attempts are valid, and how much they differ from each other and from the training set",
    ),
    ("statistical", "high", "whether generated samples have the distribution of real ones"),
    ("latent_space", "medium", "whether conditions are separated, and in order, in the latent space"),
    ("grade_conditioning", "low", "whether a classifier recognises the requested conditions in generated samples"),
):
    section(_name, family="generation", priority=_priority, question=_question)

for _name in (
    "reconstruction",
    "diversity",
    "statistical",
    "recognition",
    "molecular",
    "latent_space",
    "conditioning",
):
    import_module(f"{__name__}.{_name}")
