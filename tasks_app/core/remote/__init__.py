"""Work that runs elsewhere: submitted, asked about, fetched, canceled.

``engine`` runs the calls of one worker process concurrently; ``submitting`` and ``polling`` say
what is called when and what follows; ``lines`` is the way to an upstream.
"""
