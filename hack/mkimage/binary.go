package main

import (
	"debug/buildinfo"
	"fmt"
)

// architectureOf refuses a program that needs a C library: its container would fail with "no such file".
func architectureOf(binary string) (string, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return "", fmt.Errorf("%s is no Go program: %w", binary, err)
	}
	settings := map[string]string{}
	for _, setting := range info.Settings {
		settings[setting.Key] = setting.Value
	}
	if settings["GOOS"] != "linux" {
		return "", fmt.Errorf("%s is built for %s: build it with GOOS=linux", binary, settings["GOOS"])
	}
	if settings["CGO_ENABLED"] != "0" {
		return "", fmt.Errorf("%s may need a C library, which the image does not have: build it with CGO_ENABLED=0", binary)
	}
	return settings["GOARCH"], nil
}
