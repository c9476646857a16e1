"""Signs that a chore was done lately, and by which host with which secret key."""

from django.db import models


class Sign(models.Model):
    """The last time that a host did a chore (``tick``, ``sweep``).

    ``key_print`` tells secret keys apart without telling them.
    """

    chore = models.CharField(max_length=16)
    host = models.CharField(max_length=253)
    key_print = models.CharField(max_length=16)
    at = models.DateTimeField()

    class Meta:
        default_permissions = ()
        constraints = (models.UniqueConstraint(fields=("chore", "host"), name="sign_unique"),)

    def __str__(self) -> str:
        return f"{self.chore} on {self.host}"
