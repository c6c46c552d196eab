package main

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The operator that users can install to see the manager work.
const (
	exampleProgram = "poddefaults"
	exampleOf      = "example-" + exampleProgram
)

// writeExample writes the image of the example, and an archive with its bundle and samples.
func (r *release) writeExample(ctx context.Context) error {
	built := r.builtFor(exampleProgram, nodePlatforms)
	if err := r.writeBill(exampleOf, built); err != nil {
		return err
	}
	written, err := r.writeImage(ctx, exampleOf, built...)
	if err != nil {
		return err
	}
	files, err := readExample(os.DirFS(filepath.Join(r.root, "examples", exampleProgram)), r.version, written)
	if err != nil {
		return err
	}
	if err := r.validate(ctx, files); err != nil {
		return err
	}
	license, err := os.ReadFile(filepath.Join(r.root, "LICENSE"))
	if err != nil {
		return err
	}
	name := exampleOf + "_" + r.version + ".tar.gz"
	archive, err := pack(name, append(files, file{exampleOf + "/LICENSE", 0o644, license}), r.time)
	if err != nil {
		return err
	}
	return r.store(name, archive)
}

// readExample returns the files of the example, with the version of the release and the digest of its image.
func readExample(example fs.FS, version string, of image) ([]file, error) {
	var files []file
	err := fs.WalkDir(example, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !isOfExample(name) {
			return err
		}
		content, err := fs.ReadFile(example, name)
		if err != nil {
			return err
		}
		text := string(content)
		if strings.HasSuffix(name, ".clusterserviceversion.yaml") {
			text, err = replaceLines(text, map[string]string{
				"  name: poddefaults.v0.1.0": "  name: poddefaults." + version,
				"  version: 0.1.0":           "  version: " + strings.TrimPrefix(version, "v"),
				"    containerImage: docker.io/olm-webhook-manager/poddefaults:dev":    "    containerImage: " + of.pinned(),
				"                image: docker.io/olm-webhook-manager/poddefaults:dev": "                image: " + of.pinned(),
			})
		}
		files = append(files, file{exampleOf + "/" + name, 0o644, []byte(text)})
		return err
	})
	return files, err
}

// isOfExample leaves out the program, and how it is installed from a checkout.
func isOfExample(name string) bool {
	return name == "bundle.waivers.yaml" || strings.HasPrefix(name, "bundle/") || strings.HasPrefix(name, "samples/")
}

// validate refuses to release a bundle that has mistakes.
func (r *release) validate(ctx context.Context, example []file) error {
	directory := filepath.Join(r.root, "out", "release-build", "example")
	if err := os.RemoveAll(directory); err != nil {
		return err
	}
	for _, f := range example {
		path := filepath.Join(directory, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.content, 0o600); err != nil {
			return err
		}
	}
	_, err := r.goRun(ctx, "./cmd/"+pluginOf, "bundle", "validate", filepath.Join(directory, exampleOf, "bundle"))
	return err
}
