package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"strings"
	"time"
)

type file struct {
	name    string
	mode    int64
	content []byte
}

// pack writes an archive in the format of its name. Only the files and the time decide about its bytes.
func pack(name string, files []file, modified time.Time) ([]byte, error) {
	if strings.HasSuffix(name, ".zip") {
		return packZip(files, modified)
	}
	return packTar(files, modified)
}

func packTar(files []file, modified time.Time) ([]byte, error) {
	var archive bytes.Buffer
	compressed := gzip.NewWriter(&archive)
	w := tar.NewWriter(compressed)
	for _, f := range files {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.content)), ModTime: modified, Format: tar.FormatPAX}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	err := compressed.Close()
	return archive.Bytes(), err
}

func packZip(files []file, modified time.Time) ([]byte, error) {
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	for _, f := range files {
		entry, err := w.CreateHeader(&zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: modified})
		if err != nil {
			return nil, err
		}
		if _, err := entry.Write(f.content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return archive.Bytes(), err
}
