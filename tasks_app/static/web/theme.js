// Loaded before the first paint (not a module, not deferred), so that a chosen theme never flashes.
(function () {
  "use strict";
  var KEY = "darkroom-theme";
  var root = document.documentElement;
  function stored() {
    try {
      var value = localStorage.getItem(KEY);
      return value === "light" || value === "dark" ? value : null;
    } catch {
      return null; // storage may be forbidden
    }
  }
  function dark() {
    var chosen = root.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }
  var chosen = stored();
  if (chosen) root.dataset.theme = chosen;
  document.addEventListener("DOMContentLoaded", function () {
    var button = document.getElementById("theme");
    var logout = document.getElementById("logout");
    if (logout) logout.addEventListener("submit", function () { try { sessionStorage.clear(); } catch { /* forbidden */ } });
    if (!button) return;
    button.hidden = false;
    button.addEventListener("click", function () {
      root.dataset.theme = dark() ? "light" : "dark";
      try { localStorage.setItem(KEY, root.dataset.theme); } catch { /* forbidden */ }
    });
  });
})();
