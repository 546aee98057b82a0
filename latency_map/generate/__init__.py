"""Made-up maps: topologies, flaws of a chosen size, and the steps from one to the other.

Every function is pure: its randomness is the ``numpy.random.Generator`` that it is given.
"""
