package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"
)

const checksums = "SHA256SUMS"

// writeChecksums writes what sha256sum --check reads.
func (r *release) writeChecksums(context.Context) error {
	sums, err := r.sums()
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, s := range sums {
		fmt.Fprintf(&text, "%s  %s\n", s.sha256, s.name)
	}
	return r.store(checksums, []byte(text.String()))
}

type sum struct{ name, sha256 string }

// sums returns the sum of each file that is written, by name.
func (r *release) sums() ([]sum, error) {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return nil, err
	}
	sums := make([]sum, 0, len(entries))
	for _, entry := range entries {
		digest, err := sha256Of(r.path(entry.Name()))
		if err != nil {
			return nil, err
		}
		sums = append(sums, sum{entry.Name(), digest})
	}
	return sums, nil
}

func sha256Of(path string) (string, error) {
	f, err := os.Open(path) //nolint:gosec // G304: a file of the release
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), err
}
