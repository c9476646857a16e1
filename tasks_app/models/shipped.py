"""Which of the generators that come with Darkroom have been offered, whatever became of them."""

from django.db import models


class Shipped(models.Model):
    """A generator of ours that ``bootstrap`` has made once: staff may have deleted it since."""

    name = models.CharField(max_length=63, primary_key=True)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return self.name
