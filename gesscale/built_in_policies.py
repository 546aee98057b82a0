"""The policies that come with gesscale, by name: known without importing any of them, as completion needs it."""

BUILT_IN = {
    "autrascale": "gesscale.policies.autrascale:CARD",
    "daedalus": "gesscale.policies.daedalus:CARD",
    "dhalion": "gesscale.policies.dhalion:CARD",
    "drs": "gesscale.policies.drs:CARD",
    "ds2": "gesscale.policies.ds2:CARD",
    "gesscale": "gesscale.policies.gesscale:CARD",
    "gesscale2": "gesscale.policies.gesscale2:CARD",
    "hpa-cpu": "gesscale.policies.hpa:CPU_CARD",
    "hpa-varga": "gesscale.policies.hpa:VARGA_CARD",
    "mdl-nlunaware": "gesscale.policies.gesscale:UNAWARE_CARD",
    "rules": "gesscale.policies.rules:CARD",
    "static": "gesscale.policies.static:CARD",
    "thr-nlaware": "gesscale.policies.threshold:CARD",
    "thr-nlunaware": "gesscale.policies.threshold:UNAWARE_CARD",
}
"""Where the card of each is."""

ENTRY_POINTS = "gesscale.policies"
"""The group in which packages name the cards of theirs."""
