// Before the first paint: apply the chosen theme and text size, so that nothing flashes or jumps.
(() => {
  const size = localStorage.getItem("postern.text-size");
  if (size === "large" || size === "larger") document.documentElement.dataset.textSize = size;
  const chosen = localStorage.getItem("postern.theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
