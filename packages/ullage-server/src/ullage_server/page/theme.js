// Light, dark, or as the system has it. Set before anything is drawn, so that nothing flashes.

const KEY = "ullage.theme";
const NAMES = { auto: "Auto", light: "Light", dark: "Dark" };
const ORDER = Object.keys(NAMES);

const chosen = () => (ORDER.includes(localStorage.getItem(KEY)) ? localStorage.getItem(KEY) : "auto");

/** Makes the button go through the themes; gives what does the same. */
export function setUpTheme(button) {
  const show = (theme) => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    button.textContent = NAMES[theme];
    button.setAttribute("aria-label", `Colours: ${NAMES[theme]}`);
  };
  const next = () => {
    const theme = ORDER[(ORDER.indexOf(chosen()) + 1) % ORDER.length];
    localStorage.setItem(KEY, theme);
    show(theme);
  };
  show(chosen());
  button.onclick = next;
  return next;
}
