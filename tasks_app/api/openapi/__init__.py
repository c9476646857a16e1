"""The OpenAPI document: what `/v1` serves, in a form that programs can read.

Written by hand, as Python values, rather than drawn from the views. There are no serializers
that a generator could read: requests are parsed by ``wishes``, answers are documents of the
core, and the request that is made most is a plain Django view. What a generator would add to
that are guesses, and annotations as long as this. Lists that exist elsewhere (states, reasons,
error codes, limits, names of fields) are taken from there, and tests hold the rest to the
service: every route, method, status, header and member of an answer, in both directions.

``document`` puts it together; ``operations`` are the addresses, ``schemas`` the bodies,
``pieces`` the words they share, ``problems`` the closed lists of codes, ``offered`` what the
enabled generators add, and ``examples`` what was asked and answered in a real run.
"""
