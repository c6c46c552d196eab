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
	// before ctx ends: somebody waits for a PersistentVolume to be created.
	Labels(ctx context.Context, volume labelling.Volume) (labels map[string]string, found bool, err error)
}

// fileProvider knows the volumes that a file lists.
type fileProvider struct {
	path string

	mu sync.Mutex
	// read is the file as it was when catalogue and err came of it.
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
		p.catalogue, p.err = readCatalogue(p.path)
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

func readCatalogue(path string) (labelling.Catalogue, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	catalogue, err := labelling.ParseCatalogue(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return catalogue, nil
}
