package main

import (
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/volumelabels/labelling"
)

// provider returns the labels of volumes: a cloud, a storage array or a file.
type provider interface {
	// Labels returns the labels of a volume, and whether the volume is known. It returns before ctx
	// ends: a client waits for the creation of the PersistentVolume.
	Labels(ctx context.Context, volume labelling.Volume) (labels map[string]string, found bool, err error)
}

type fileProvider struct {
	path string
	// readFile is for tests; os.ReadFile if nil.
	readFile func(path string) ([]byte, error)

	mu sync.Mutex
	// read describes the file whose content is catalogue or err. After a failed read it is empty,
	// so that the next call reads the file again.
	read      os.FileInfo
	catalogue labelling.Catalogue
	err       error
}

// Labels reads the file again if it has changed.
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
		p.catalogue, p.err = labelling.ParseCatalogue(text)
		if p.err != nil {
			p.err = fmt.Errorf("%s: %w", p.path, p.err)
		}
		p.read = now
	}
	labels, found := p.catalogue[volume]
	return labels, found, p.err
}

// isChanged also compares the identity: kubelets replace the files of a ConfigMap.
func isChanged(before, now os.FileInfo) bool {
	return !os.SameFile(before, now) || !before.ModTime().Equal(now.ModTime()) || before.Size() != now.Size()
}

func (p *fileProvider) text() ([]byte, error) {
	if p.readFile != nil {
		return p.readFile(p.path)
	}
	return os.ReadFile(p.path)
}
