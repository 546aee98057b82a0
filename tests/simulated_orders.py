"""Orders to a simulated plant by what is to change."""


def order(plant, operator, *, add=(), remove=()):
    """Order the present placement of an operator with some nodes more and some fewer; return the outcome."""
    state = plant.state()
    present = (*state.placements.get(operator, ()), *state.starting.get(operator, ()))
    return plant.order(operator, tuple(sorted({*present, *add} - set(remove))))
