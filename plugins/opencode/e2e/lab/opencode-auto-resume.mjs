// A plugin of another author that resumes sessions, by its name; it does nothing here.

export default { id: "opencode-auto-resume", server: async () => ({}) }
