// A button that goes round: as the system has it, light, dark. The choice is kept where the browser allows it.

const THEMES = ["auto", "light", "dark"];
const KEY = "tutelage-theme";

export function createThemeToggle(button) {
  const stored = () => {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null; // pages from disk may have no storage
    }
  };
  function show(theme) {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    button.textContent = {auto: "Theme: auto", light: "Theme: light", dark: "Theme: dark"}[theme];
    button.dataset.choice = theme;
  }
  button.addEventListener("click", () => {
    const theme = THEMES[(THEMES.indexOf(button.dataset.choice) + 1) % THEMES.length];
    show(theme);
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      // then it lasts as long as the page
    }
  });
  show(THEMES.includes(stored()) ? stored() : "auto");
}
