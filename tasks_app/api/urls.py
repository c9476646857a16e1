"""The addresses of the API. Ids that are no ids are 404 like ids of nothing."""

from typing import Any

from django.http import HttpRequest
from django.urls import URLPattern, path
from django.views.decorators.csrf import csrf_exempt

from tasks_app.api import callbacks, files, offers, polling, problems, schema, tasks


@csrf_exempt
def nothing_here(request: HttpRequest, rest: str = "") -> Any:
    """Answer for every address below `/v1` that is not one of the API's."""
    return problems.response(404, "not_found", "There is no such address.", request)


urlpatterns: list[URLPattern] = [
    path("v1/tasks", tasks.Tasks.as_view(), name="tasks"),
    path("v1/tasks/<uuid:task_id>", polling.TaskDispatch.as_view(), name="task"),
    path("v1/tasks/<uuid:task_id>/retry", tasks.Retry.as_view(), name="retry"),
    path("v1/tasks/<uuid:task_id>/result", tasks.Result.as_view(), name="result"),
    path("v1/tasks/<uuid:task_id>/events", tasks.Events.as_view(), name="events"),
    path("v1/artifacts/<uuid:artifact_id>", files.ArtifactFile.as_view(), name="artifact"),
    path(
        "v1/artifacts/<uuid:artifact_id>/thumbnail",
        files.ThumbnailFile.as_view(),
        name="thumbnail",
    ),
    path("v1/callbacks", callbacks.Callbacks.as_view(), name="callbacks"),
    path("v1/callbacks/redeliver", callbacks.RedeliverFailed.as_view(), name="redeliver-failed"),
    path("v1/callbacks/test", callbacks.Test.as_view(), name="callback-test"),
    path("v1/callbacks/settings", callbacks.Settings.as_view(), name="callback-settings"),
    path("v1/callbacks/secret", callbacks.Secret.as_view(), name="callback-secret"),
    path("v1/callbacks/<uuid:callback_id>", callbacks.OneCallback.as_view(), name="callback"),
    path(
        "v1/callbacks/<uuid:callback_id>/redeliver",
        callbacks.Redeliver.as_view(),
        name="redeliver",
    ),
    path("v1/generators", offers.Generators.as_view(), name="generators"),
    path("v1/account", offers.Account.as_view(), name="account"),
    path("v1/schema", schema.Schema.as_view(), name="schema"),
    path("v1/docs", schema.Docs.as_view(), name="docs"),
    path("files/<str:token>", files.linked_file, name="file"),
    path("v1/", nothing_here),
    path("v1/<path:rest>", nothing_here),
]
