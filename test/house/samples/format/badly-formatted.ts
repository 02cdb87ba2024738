export const   badly = "formatted"
