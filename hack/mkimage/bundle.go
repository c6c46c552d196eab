package main

import (
	"errors"
	"fmt"
	"io/fs"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"sigs.k8s.io/yaml"
)

// writeBundleImage writes what OLM pulls: the files of a bundle, with the annotations as labels. No node runs the image.
func writeBundleImage(out, name string, bundle fs.FS) (digest string, err error) {
	text, err := fs.ReadFile(bundle, "metadata/annotations.yaml")
	if err != nil {
		return "", err
	}
	var metadata struct {
		Annotations map[string]string `json:"annotations"`
	}
	if err := yaml.UnmarshalStrict(text, &metadata); err != nil {
		return "", fmt.Errorf("metadata/annotations.yaml: %w", err)
	}
	if len(metadata.Annotations) == 0 {
		return "", errors.New("metadata/annotations.yaml has no annotations")
	}
	files, err := readTree(bundle)
	if err != nil {
		return "", err
	}
	image, err := newImage(files, "amd64", v1.Config{Labels: metadata.Annotations})
	if err != nil {
		return "", err
	}
	if err := writeArchive(out, name, image); err != nil {
		return "", fmt.Errorf("write %s: %w", out, err)
	}
	hash, err := image.Digest()
	return hash.String(), err
}
