// Before the first paint: apply the chosen theme, so that the other one does not flash.
(() => {
  const chosen = localStorage.getItem("postern.theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
