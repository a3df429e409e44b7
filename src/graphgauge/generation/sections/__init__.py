"""The sections of the family and their metrics, in the order of tables."""

from importlib import import_module

from graphgauge.core.registry import section

for _name, _question in (
    ("reconstruction", "how much of a real sample comes back when it is encoded and decoded"),
    (
        "diversity",
        "how many attempts are valid, and how much they differ from each other and from the training set",
    ),
    ("statistical", "whether generated samples have the distribution of real ones"),
    ("latent_space", "whether conditions are separated, and in order, in the latent space"),
    ("grade_conditioning", "whether a classifier recognises the requested conditions in generated samples"),
):
    section(_name, family="generation", question=_question)

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
