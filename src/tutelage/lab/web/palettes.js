// What can be drawn, by environment. Characters are those that the environment's own text form has.

export const MAZE = {
  border: "#",
  name: "maze",
  palette: [
    {char: ".", name: "floor", colour: "--cell-floor"},
    {char: "#", name: "wall", colour: "--cell-wall"},
    {char: "G", name: "goal", colour: "--cell-goal", unique: true},
    {char: ">", name: "agent", colour: "--cell-agent", unique: true, directions: [">", "v", "<", "^"]},
  ],
};
