package main

import (
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/volumelabels/labelling"
)

// provider knows volumes: a cloud does, or a storage array, or a file.
type provider interface {
	// Labels returns what is known of a volume, and whether anything is. It returns
	// before ctx ends: a client waits for the PersistentVolume to be created.
	Labels(ctx context.Context, volume labelling.Volume) (labels map[string]string, found bool, err error)
}

// fileProvider knows the volumes that a file lists.
type fileProvider struct {
	path string
	// readFile is os.ReadFile, if it is nil.
	readFile func(path string) ([]byte, error)

	mu sync.Mutex
	// read is the file as it was when its content became catalogue or err. A file that could not be
	// read has no content: it is read again at the next call.
	read      os.FileInfo
	catalogue labelling.Catalogue
	err       error
}

// Labels reads the file again if it is not the one that was read.
func (p *fileProvider) Labels(_ context.Context, volume labelling.Volume) (map[string]string, bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, err := os.Stat(p.path)
	if err != nil {
		return nil, false, err
	}
	if p.read == nil || isChanged(p.read, now) {
		text, err := p.text()
		if err != nil {
			return nil, false, err
		}
		p.catalogue, p.err = parseCatalogue(p.path, text)
		p.read = now
	}
	labels, found := p.catalogue[volume]
	return labels, found, p.err
}

// isChanged is true of another file too: kubelets do not write into the files of a
// ConfigMap, they replace them.
func isChanged(before, now os.FileInfo) bool {
	return !os.SameFile(before, now) || !before.ModTime().Equal(now.ModTime()) || before.Size() != now.Size()
}

func (p *fileProvider) text() ([]byte, error) {
	if p.readFile != nil {
		return p.readFile(p.path)
	}
	return os.ReadFile(p.path)
}

func parseCatalogue(path string, text []byte) (labelling.Catalogue, error) {
	catalogue, err := labelling.ParseCatalogue(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return catalogue, nil
}
