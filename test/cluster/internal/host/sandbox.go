package host

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
)

// writeSandboxImage writes an image archive like docker save, with only the program that holds a pod's namespaces.
func writeSandboxImage(path, image, pause string) error {
	program, err := os.ReadFile(pause)
	if err != nil {
		return err
	}
	layer, err := tarball(tarFile{"pause", 0o755, program})
	if err != nil {
		return err
	}
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH,
		"os":           "linux",
		"config":       map[string]any{"Entrypoint": []string{"/pause"}, "User": "65535:65535"},
		"rootfs":       map[string]any{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(layer))}},
	})
	if err != nil {
		return err
	}
	manifest, err := json.Marshal([]any{map[string]any{"Config": "config.json", "RepoTags": []string{image}, "Layers": []string{"layer.tar"}}})
	if err != nil {
		return err
	}
	archive, err := tarball(tarFile{"manifest.json", 0o644, manifest}, tarFile{"config.json", 0o644, config}, tarFile{"layer.tar", 0o644, layer})
	if err != nil {
		return err
	}
	return os.WriteFile(path, archive, 0o644)
}

type tarFile struct {
	name    string
	mode    int64
	content []byte
}

func tarball(files ...tarFile) ([]byte, error) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, f := range files {
		if err := w.WriteHeader(&tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.content))}); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	err := w.Close() // it writes the end of the archive
	return archive.Bytes(), err
}
