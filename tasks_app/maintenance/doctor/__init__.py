"""The doctor: small checks of a set-up, each of which names a cause and a cure."""
