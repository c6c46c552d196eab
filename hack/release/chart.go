package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// writeChart packs the chart with the version, and with the digest of the image. helm package would write the time.
func (r *release) writeChart(context.Context) error {
	files, err := readChart(os.DirFS(filepath.Join(r.root, "charts")), r.version, r.manager.digest)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%s-%s.tgz", managerOf, strings.TrimPrefix(r.version, "v"))
	archive, err := pack(name, files, r.time)
	if err != nil {
		return err
	}
	return r.store(name, archive)
}

func readChart(charts fs.FS, version, digest string) ([]file, error) {
	var files []file
	err := fs.WalkDir(charts, managerOf, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(name, ".gotmpl") || entry.Name() == ".helmignore" {
			return err
		}
		content, err := fs.ReadFile(charts, name)
		if err != nil {
			return err
		}
		text := string(content)
		switch name {
		case managerOf + "/Chart.yaml":
			text, err = replaceLines(text, map[string]string{
				"version: 0.0.0-dev": "version: " + strings.TrimPrefix(version, "v"), "appVersion: dev": "appVersion: " + version,
			})
		case managerOf + "/values.yaml":
			text, err = replaceLines(text, map[string]string{`  digest: ""`: "  digest: " + digest})
		}
		files = append(files, file{name, 0o644, []byte(text)})
		return err
	})
	return files, err
}

// replaceLines replaces lines that must exist once.
func replaceLines(text string, replacements map[string]string) (string, error) {
	for line, by := range replacements {
		if strings.Count(text, "\n"+line+"\n") != 1 {
			return "", fmt.Errorf("want the line %q once", line)
		}
		text = strings.Replace(text, "\n"+line+"\n", "\n"+by+"\n", 1)
	}
	return text, nil
}
