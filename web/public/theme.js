// Before the first paint: the chosen appearance, so that nobody sees the other one flash by.
(() => {
  const chosen = localStorage.getItem("postern.theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
