from gesscale.policies.gesscale.memo import GesscaleMemo


def memo(*paces: tuple[float, float]) -> GesscaleMemo:
    return GesscaleMemo(policy="gesscale", at_s=0.0, period_s=20.0, paces=paces)


def test_the_slowdown_is_that_to_the_slowest_pace_since_an_instant() -> None:
    paces = ((0.0, 3.0), (100.0, 1.0), (200.0, 1.5), (300.0, 1.2))
    assert memo().slowdown(0.0) == 1.0
    assert memo(*paces).slowdown(250.0) == 1.5 / 1.2  # 1.5 held until 300 s
    assert memo(*paces).slowdown(300.0) == 1.0
    assert memo(*paces).slowdown(50.0) == 3.0 / 1.2
