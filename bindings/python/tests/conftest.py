"""How many cases the property-based tests try: the same few cases each time or, with
`--hypothesis-profile=long`, different cases each time, for about an hour."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "few", max_examples=300, deadline=None, database=None, derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip
settings.register_profile("long", settings.get_profile("few"), max_examples=400_000,
                          derandomize=False)  # fmt: skip
settings.load_profile("few")
