package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/fstest"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

const imageName = "docker.io/olm-webhook-manager/hello:dev"

func TestWriteImage(t *testing.T) {
	dir := t.TempDir()
	binary := build(t, dir, "hello", "CGO_ENABLED=0", "GOARCH=arm64")
	data, tool := filepath.Join(dir, "policy.json"), filepath.Join(dir, "tool")
	writeFile(t, data, "{}")
	writeFile(t, tool, "#!")
	installtest.Must(t, os.Chmod(tool, 0o700))
	archive := filepath.Join(dir, "hello.tar")

	digest, err := writeImage(archive, imageName, content{
		user: "65532:65532", dir: "/bin", extra: []string{data + "=/etc/hello/policy.json", tool + "=/bin/tool"},
	}, []string{binary})
	installtest.Must(t, err)

	entries := readTar(t, archive)
	index := decode[v1.IndexManifest](t, entries["index.json"])
	installtest.Same(t, "the images, by the names under which they are imported", map[string]string{
		imageName: digest,
		"docker.io/olm-webhook-manager/hello@" + digest: digest,
	}, digestsByName(index))
	blob := func(hash v1.Hash) []byte { return entries["blobs/sha256/"+hash.Hex] }
	manifest := decode[v1.Manifest](t, blob(index.Manifests[0].Digest))
	config := decode[v1.ConfigFile](t, blob(manifest.Config.Digest))
	want := v1.Config{Entrypoint: []string{"/bin/hello"}, User: "65532:65532", WorkingDir: "/"}
	installtest.Same(t, "the configuration differs", want, config.Config)
	if config.OS != "linux" || config.Architecture != "arm64" {
		t.Errorf("the image is for %s/%s, want what the program was built for, linux/arm64", config.OS, config.Architecture)
	}

	layer := filepath.Join(dir, "layer.tar")
	writeFile(t, layer, unzipped(t, blob(manifest.Layers[0].Digest)))
	files := readTar(t, layer)
	installtest.Same(t, "the further file", "{}", string(files["etc/hello/policy.json"]))
	if len(files["bin/hello"]) == 0 {
		t.Error("the program is not in the layer")
	}
	installtest.Same(t, "modes", map[string]int64{"etc/hello/policy.json": 0o644, "bin/tool": 0o755, "bin/hello": 0o755}, modes(t, layer))
}

func TestSameInputSameArchive(t *testing.T) {
	dir := t.TempDir()
	binary := build(t, dir, "hello", "CGO_ENABLED=0")
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	writeFile(t, a, "a")
	writeFile(t, b, "b")
	first, second := filepath.Join(dir, "first.tar"), filepath.Join(dir, "second.tar")

	one, err := writeImage(first, imageName, content{user: "1:1", extra: []string{a + "=/x/a", b + "=/x/b"}}, []string{binary})
	installtest.Must(t, err)
	two, err := writeImage(second, imageName, content{user: "1:1", extra: []string{b + "=/x/b", a + "=/x/a"}}, []string{binary})
	installtest.Must(t, err)
	installtest.Same(t, "the digest of the same input", one, two)
	if string(readFile(t, first)) != string(readFile(t, second)) {
		t.Error("the archives differ")
	}
	other, err := writeImage(second, imageName, content{user: "2:2"}, []string{binary})
	installtest.Must(t, err)
	if other == one {
		t.Errorf("another image has the same digest: %s", other)
	}
}

func TestSeveralArchitectures(t *testing.T) {
	dir := t.TempDir()
	amd, arm := filepath.Join(dir, "amd"), filepath.Join(dir, "arm")
	for folder, architecture := range map[string]string{amd: "amd64", arm: "arm64"} {
		installtest.Must(t, os.Mkdir(folder, 0o755))
		build(t, folder, "hello", "CGO_ENABLED=0", "GOARCH="+architecture)
	}
	archive := filepath.Join(dir, "hello.tar")

	digest, err := writeImage(archive, imageName, content{user: "1:1"}, []string{filepath.Join(amd, "hello"), filepath.Join(arm, "hello")})
	installtest.Must(t, err)

	entries := readTar(t, archive)
	outer := decode[v1.IndexManifest](t, entries["index.json"])
	installtest.Same(t, "the digest in the archive", digest, outer.Manifests[0].Digest.String())
	text := entries["blobs/sha256/"+outer.Manifests[0].Digest.Hex]
	inner := decode[v1.IndexManifest](t, text)
	installtest.Same(t, "the index, and how a registry client that copies it would write it", rewritten(t, text), string(text))
	var architectures []string
	for _, manifest := range inner.Manifests {
		architectures = append(architectures, manifest.Platform.Architecture)
	}
	installtest.Same(t, "the architectures", []string{"amd64", "arm64"}, architectures)

	_, err = writeImage(archive, imageName, content{user: "1:1"}, []string{filepath.Join(amd, "hello"), filepath.Join(amd, "hello")})
	installtest.Error(t, "two programs are built for amd64", err)
}

// rewritten returns an index as a client of the image specification 1.0 writes it, such as skopeo 1.9.
func rewritten(t *testing.T, index []byte) string {
	t.Helper()
	type platform struct {
		Architecture string `json:"architecture"`
		OS           string `json:"os"`
	}
	type descriptor struct {
		MediaType string   `json:"mediaType"`
		Digest    string   `json:"digest"`
		Size      int64    `json:"size"`
		Platform  platform `json:"platform"`
	}
	type spec struct {
		SchemaVersion int          `json:"schemaVersion"`
		MediaType     string       `json:"mediaType"`
		Manifests     []descriptor `json:"manifests"`
	}
	return string(installtest.OrPanic(json.Marshal(decode[spec](t, index))))
}

func TestRepositoryOf(t *testing.T) {
	for name, want := range map[string]string{
		"docker.io/a/b:v1":                "docker.io/a/b",
		"registry.example.com:5000/a/b":   "registry.example.com:5000/a/b",
		"registry.example.com:5000/b:dev": "registry.example.com:5000/b",
	} {
		installtest.Same(t, "the repository of "+name, want, repositoryOf(name))
	}
}

func TestBundleImage(t *testing.T) {
	archive := filepath.Join(t.TempDir(), "bundle.tar")
	bundle := fstest.MapFS{
		"metadata/annotations.yaml": {Data: []byte("annotations: {operators.operatorframework.io.bundle.package.v1: shop}\n")},
		"manifests/csv.yaml":        {Data: []byte("kind: ClusterServiceVersion\n")},
	}
	digest, err := writeBundleImage(archive, imageName, bundle)
	installtest.Must(t, err)

	entries := readTar(t, archive)
	index := decode[v1.IndexManifest](t, entries["index.json"])
	installtest.Same(t, "the digest in the archive", digest, index.Manifests[0].Digest.String())
	manifest := decode[v1.Manifest](t, entries["blobs/sha256/"+index.Manifests[0].Digest.Hex])
	config := decode[v1.ConfigFile](t, entries["blobs/sha256/"+manifest.Config.Digest.Hex])
	installtest.Same(t, "the labels", map[string]string{"operators.operatorframework.io.bundle.package.v1": "shop"}, config.Config.Labels)
	layer := filepath.Join(t.TempDir(), "layer.tar")
	writeFile(t, layer, unzipped(t, entries["blobs/sha256/"+manifest.Layers[0].Digest.Hex]))
	installtest.Same(t, "the manifest", "kind: ClusterServiceVersion\n", string(readTar(t, layer)["manifests/csv.yaml"]))

	delete(bundle, "metadata/annotations.yaml")
	_, err = writeBundleImage(archive, imageName, bundle)
	installtest.Error(t, "annotations.yaml", err)
}

func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	writeFile(t, text, "text")
	static := build(t, dir, "static", "CGO_ENABLED=0")
	for name, tc := range map[string]struct {
		binary string
		extra  []string
		want   string
	}{
		"no program":           {text, nil, "no Go program"},
		"another system":       {build(t, dir, "mac", "CGO_ENABLED=0", "GOOS=darwin"), nil, "GOOS=linux"},
		"a mapping without =":  {static, []string{text}, "HOSTFILE=/path/in/image"},
		"a relative path":      {static, []string{text + "=etc/text"}, "HOSTFILE=/path/in/image"},
		"a file that is not":   {static, []string{filepath.Join(dir, "none") + "=/none"}, "no such file"},
		"a dynamic program":    {build(t, dir, "c", "CGO_ENABLED=1", "GOFLAGS=-ldflags=-linkmode=external"), nil, "CGO_ENABLED=0"},
		"a program that isn't": {filepath.Join(dir, "none"), nil, "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out.tar")
			_, err := writeImage(out, imageName, content{user: "1:1", extra: tc.extra}, []string{tc.binary})
			installtest.Error(t, tc.want, err)
			if _, err := os.Stat(out); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("there is an archive in spite of the error: %v", err)
			}
		})
	}
}

func build(t *testing.T, dir, name string, env ...string) string {
	t.Helper()
	source := filepath.Join(dir, "main.go")
	writeFile(t, source, "package main\n\nfunc main() {}\n")
	out := filepath.Join(dir, name)
	cmd := exec.Command("go", "build", "-o", out, source)
	cmd.Env = append(append(os.Environ(), "GOOS=linux"), env...)
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", name, err, output)
	}
	return out
}

func readTar(t *testing.T, path string) map[string][]byte {
	t.Helper()
	entries := map[string][]byte{}
	eachEntry(t, path, func(header *tar.Header, content []byte) { entries[header.Name] = content })
	return entries
}

// modes are those of the files.
func modes(t *testing.T, path string) map[string]int64 {
	t.Helper()
	modes := map[string]int64{}
	eachEntry(t, path, func(header *tar.Header, _ []byte) {
		if header.Typeflag == tar.TypeReg {
			modes[header.Name] = header.Mode
		}
	})
	return modes
}

func eachEntry(t *testing.T, path string, do func(*tar.Header, []byte)) {
	t.Helper()
	archive := installtest.OrPanic(os.Open(path))
	defer archive.Close()
	for r := tar.NewReader(archive); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		installtest.Must(t, err)
		content, err := io.ReadAll(r)
		installtest.Must(t, err)
		do(header, content)
	}
}

func digestsByName(index v1.IndexManifest) map[string]string {
	digests := map[string]string{}
	for _, manifest := range index.Manifests {
		digests[manifest.Annotations["io.containerd.image.name"]] = manifest.Digest.String()
	}
	return digests
}

// unzipped returns the content of a layer.
func unzipped(t *testing.T, layer []byte) string {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(layer))
	installtest.Must(t, err)
	return string(installtest.OrPanic(io.ReadAll(r)))
}

func decode[T any](t *testing.T, content []byte) T {
	t.Helper()
	var value T
	if err := json.Unmarshal(content, &value); err != nil {
		t.Fatalf("%v in %q", err, content)
	}
	return value
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	content := installtest.OrPanic(os.ReadFile(path))
	return content
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	installtest.Must(t, os.WriteFile(path, []byte(content), 0o644))
}
