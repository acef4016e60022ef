// The SDK asks for a home folder while it is loaded, and the sandbox has neither HOME nor a passwd file. Imported first.
process.env.HOME ??= '/tmp';

export {};
