package main

import (
	"context"
	"fmt"
	"strings"
)

// notesOf returns the section of a version in the change log, without its heading.
func notesOf(changelog, version string) (string, error) {
	heading := "## [" + strings.TrimPrefix(version, "v") + "]"
	_, rest, found := strings.Cut("\n"+changelog, "\n"+heading)
	if !found {
		return "", fmt.Errorf("CHANGELOG.md has no section %q: write the changes of the release into it", heading)
	}
	_, section, _ := strings.Cut(rest, "\n")
	section, _, _ = strings.Cut(section, "\n## ")
	section, _, _ = strings.Cut(section, "\n[") // links
	if section = strings.TrimSpace(section); section == "" {
		return "", fmt.Errorf("the section %q of CHANGELOG.md is empty: write the changes of the release into it", heading)
	}
	return section, nil
}

func (r *release) writeNotes(context.Context) error {
	return r.store("release-notes.md", []byte(r.notes+"\n"))
}
