package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/volumelabels/labelling"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

var disk = labelling.Volume{Driver: "disk.csi.example.com", Handle: "vol-1"}

func TestFileIsReadAgainWhenItChanges(t *testing.T) {
	p := &fileProvider{path: filepath.Join(t.TempDir(), "volumes.yaml")}
	expect := func(want map[string]string, wantFound bool) {
		t.Helper()
		labels, found, err := p.Labels(t.Context(), disk)
		installtest.Must(t, err)
		installtest.Same(t, "labels", want, labels)
		installtest.Same(t, "they are found", wantFound, found)
	}

	replaceFile(t, p.path, `volumes: [{driver: disk.csi.example.com, handle: vol-1, labels: {zone: north}}]`)
	expect(map[string]string{"zone": "north"}, true)
	replaceFile(t, p.path, `volumes: [{driver: disk.csi.example.com, handle: vol-1, labels: {zone: south}}]`)
	expect(map[string]string{"zone": "south"}, true)
	replaceFile(t, p.path, `volumes: []`)
	expect(nil, false)
}

func TestFileIsNotReadWhileItIsTheSame(t *testing.T) {
	p := &fileProvider{path: filepath.Join(t.TempDir(), "volumes.yaml")}
	replaceFile(t, p.path, `volumes: [{driver: disk.csi.example.com, handle: vol-1, labels: {zone: north}}]`)
	_, _, err := p.Labels(t.Context(), disk)
	installtest.Must(t, err)
	p.catalogue = labelling.Catalogue{disk: {"zone": "remembered"}}
	labels, _, err := p.Labels(t.Context(), disk)
	installtest.Must(t, err)
	installtest.Same(t, "zone", "remembered", labels["zone"])
}

func TestFileThatCannotBeUsed(t *testing.T) {
	p := &fileProvider{path: filepath.Join(t.TempDir(), "volumes.yaml")}
	if _, _, err := p.Labels(t.Context(), disk); !os.IsNotExist(err) {
		t.Errorf("a file that is not there: %v", err)
	}
	replaceFile(t, p.path, `volumes: [{}]`)
	for range 2 { // the second time from memory
		_, _, err := p.Labels(t.Context(), disk)
		installtest.Error(t, "volumes.yaml: volumes[0]: driver and handle must both be set", err)
	}
	replaceFile(t, p.path, `volumes: []`)
	_, _, err := p.Labels(t.Context(), disk)
	installtest.Must(t, err)
}

// A read can fail for a temporary reason, such as missing file descriptors, without a change of the file.
func TestFailedReadIsRepeated(t *testing.T) {
	p := &fileProvider{path: filepath.Join(t.TempDir(), "volumes.yaml")}
	replaceFile(t, p.path, `volumes: [{driver: disk.csi.example.com, handle: vol-1, labels: {zone: north}}]`)
	p.readFile = func(string) ([]byte, error) { return nil, syscall.EMFILE }
	_, _, err := p.Labels(t.Context(), disk)
	installtest.ErrorIs(t, syscall.EMFILE, err)
	p.readFile = nil
	labels, _, err := p.Labels(t.Context(), disk)
	installtest.Must(t, err)
	installtest.Same(t, "zone", "north", labels["zone"])
}

func replaceFile(t *testing.T, path, text string) {
	t.Helper()
	installtest.Must(t, os.WriteFile(path+".new", []byte(text), 0o600))
	installtest.Must(t, os.Rename(path+".new", path))
}
