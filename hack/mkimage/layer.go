package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

type file struct {
	path    string
	mode    int64
	content []byte
}

const plain, executable = 0o644, 0o755

func readProgram(binary, dir string) (file, error) {
	content, err := os.ReadFile(binary) //nolint:gosec // G304: the user names the file
	return file{path: path.Join("/", dir, filepath.Base(binary)), mode: executable, content: content}, err
}

func readMapped(mapping string) (file, error) {
	host, target, ok := strings.Cut(mapping, "=")
	if !ok || !path.IsAbs(target) {
		return file{}, fmt.Errorf("%q does not name a file and its path in the image: HOSTFILE=/path/in/image", mapping)
	}
	content, err := os.ReadFile(host) //nolint:gosec // G304: the user names the file
	if err != nil {
		return file{}, err
	}
	info, err := os.Stat(host)
	if err != nil {
		return file{}, err
	}
	f := file{path: path.Clean(target), mode: plain, content: content}
	if info.Mode()&0o111 != 0 {
		f.mode = executable
	}
	return f, nil
}

// epoch is the time of every file, so that an archive depends on nothing but what is in it.
var epoch = time.Unix(0, 0).UTC()

func tarOf(files []file) ([]byte, error) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, dir := range foldersOf(files) {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755, ModTime: epoch}); err != nil {
			return nil, err
		}
	}
	sorted := slices.SortedFunc(slices.Values(files), func(a, b file) int { return cmp.Compare(a.path, b.path) })
	for _, f := range sorted {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: strings.TrimPrefix(f.path, "/"), Mode: f.mode, Size: int64(len(f.content)), ModTime: epoch}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return archive.Bytes(), err
}

// foldersOf returns each folder once, outer before inner.
func foldersOf(files []file) []string {
	var dirs []string
	for _, f := range files {
		for dir := path.Dir(strings.TrimPrefix(f.path, "/")); dir != "."; dir = path.Dir(dir) {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}
