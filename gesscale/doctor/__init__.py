"""Checks of everything that gesscale needs: this machine, the settings and the drivers, a cluster."""
