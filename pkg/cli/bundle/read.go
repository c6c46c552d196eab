package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// The limits of a bundle. OLM accepts 1 MB, compressed; the largest file of the published bundles has 2 MB.
const (
	maxFile  = 4 << 20
	maxSize  = 8 << 20
	maxFiles = 2000
	// maxDocuments is how many YAML documents a bundle may have. A parser needs several kilobytes for each.
	maxDocuments = 10000
)

const (
	metadataFolder  = "metadata"
	manifestsFolder = "manifests"
)

// Inspect reads the bundle in a folder. What cannot be read is in its Problems; the error is about the folder.
func Inspect(dir string) (*Bundle, error) { return inspect(context.Background(), dir) }

// inspect is Inspect that ends with a context, between documents.
func inspect(ctx context.Context, dir string) (*Bundle, error) {
	// A root does not follow symbolic links that lead out of the bundle.
	root, err := os.OpenRoot(dir) //nolint:forbidigo // Files are opened after regular.
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read as a bundle: %w", dir, cause(err))
	}
	defer root.Close()
	return newReader(ctx, dir).inspectFS(root.FS()), ctx.Err()
}

// InspectFS is Inspect for a file system. Messages name it as source.
func InspectFS(fsys fs.FS, source string) *Bundle {
	return newReader(context.Background(), source).inspectFS(fsys)
}

func (r *reader) inspectFS(fsys fs.FS) *Bundle {
	if r.walk(fsys, metadataFolder) != nil {
		return r.Bundle
	}
	r.readAnnotations()
	if r.walk(fsys, r.manifestsFolder()) != nil {
		return r.Bundle
	}
	return r.read()
}

type reader struct {
	*Bundle
	reported  map[problemsOf]int
	documents int
	text      int  // bytes of all rules (see limitCombinations)
	lists     bool // the items of lists are objects
	// ended returns an error once the command is to end. The bundle is then incomplete.
	ended func() error
}

func newReader(ctx context.Context, source string) *reader {
	return &reader{Bundle: &Bundle{Source: source, files: map[string][]byte{}}, reported: map[problemsOf]int{}, ended: ctx.Err}
}

func (r *reader) unreadable(name string, err error) {
	r.addProblem(BrokenFile, name, 0, "cannot be read: "+cause(err).Error(), "put a plain file in its place that may be read")
}

// walk reads the files of a folder, which need not exist.
func (r *reader) walk(fsys fs.FS, folder string) error {
	return fs.WalkDir(fsys, folder, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case name == folder && errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			r.unreadable(name, err)
			return nil
		case entry.IsDir():
			return nil
		case r.ended() != nil:
			return r.ended()
		}
		if err := regular(fsys, name); err != nil {
			r.unreadable(name, err)
			return nil
		}
		return r.addFile(name, func() (io.ReadCloser, error) { return fsys.Open(name) }) //nolint:forbidigo // It is a regular file.
	})
}

// regular refuses other files: to open a named pipe would block forever, and a device may be endless.
func regular(fsys fs.FS, name string) error {
	info, err := fs.Stat(fsys, name)
	if err == nil && !info.Mode().IsRegular() {
		return errors.New("it is no regular file")
	}
	return err
}

const oneVersion = "keep one version of one operator: a bundle holds no more"

var errTooBig = errors.New("too big")

// addFile keeps the text of a file within the limits. After errTooBig, no more of the bundle is read.
func (r *reader) addFile(name string, open func() (io.ReadCloser, error)) error {
	if len(r.files) == maxFiles {
		r.addProblem(TooBig, "", 0, fmt.Sprintf("has more than %d files", maxFiles), oneVersion)
		return errTooBig
	}
	file, err := open()
	if err != nil {
		r.unreadable(name, err)
		return nil
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	switch {
	case err != nil:
		r.unreadable(name, err)
	case len(text) > maxFile:
		r.addProblem(TooBig, name, 0, fmt.Sprintf("has more than %d MiB, and no cluster takes an object of that size", maxFile>>20), "take it out of the bundle")
		return errTooBig
	case r.Size+int64(len(text)) > maxSize:
		r.addProblem(TooBig, "", 0, fmt.Sprintf("has more than %d MiB", maxSize>>20), oneVersion)
		return errTooBig
	default:
		r.files[name] = text
		r.Size += int64(len(text))
	}
	return nil
}

func (r *reader) read() *Bundle {
	r.readManifests()
	r.checkWhole()
	r.checkAnnotations()
	r.readMetadata()
	return r.Bundle
}

func (b *Bundle) manifestsFolder() string {
	named := path.Clean(b.Annotations[manifestsAnnotation])
	if named == "." || named == metadataFolder || !fs.ValidPath(named) {
		return manifestsFolder
	}
	return named
}

// readManifests reports other files in the manifests folder: OLM refuses a bundle that has them.
func (r *reader) readManifests() {
	folder := r.manifestsFolder()
	for _, name := range slices.Sorted(maps.Keys(r.files)) {
		if r.ended() != nil {
			return
		}
		within, found := strings.CutPrefix(name, folder+"/")
		switch {
		case !found:
		case strings.Contains(within, "/"):
			r.addProblem(StrayFile, name, 0, "is in a folder of its own, and OLM reads no bundle with one", "move it to "+folder)
		case strings.HasPrefix(within, "."):
			r.addProblem(StrayFile, name, 0, "is hidden, and OLM reads no bundle with hidden files", "remove it")
		default:
			r.parse(name)
		}
	}
}

func (r *reader) checkWhole() {
	r.limitGrantedRules()
	csvs := slices.DeleteFunc(slices.Clone(r.Objects), func(o *Object) bool { return o.GetKind() != operatorsv1alpha1.ClusterServiceVersionKind })
	switch {
	case len(r.Objects) == 0 && len(r.Annotations) == 0 && len(r.Problems) == 0:
		r.addProblem(NotABundle, "", 0, fmt.Sprintf("is no bundle: it has neither %s/ nor %s", manifestsFolder, annotationsFile), "name the folder that has both")
	case len(csvs) == 0 && r.Err() == nil:
		r.addProblem(NoCSV, r.manifestsFolder(), 0, "has no ClusterServiceVersion: a bundle is one, and what it needs", "add it")
	case len(csvs) == 1:
		r.setCSV(csvs[0])
	case len(csvs) > 1:
		files := lists.Map(csvs, func(csv *Object) string { return csv.File })
		r.addProblem(SeveralCSVs, r.manifestsFolder(), 0, fmt.Sprintf("has %d ClusterServiceVersions (%s), and a bundle is one version", len(csvs), strings.Join(files, ", ")), "keep one")
	}
}

func (r *reader) setCSV(csv *Object) {
	r.CSVObject = csv
	r.CSV, _ = csv.Typed.(*operatorsv1alpha1.ClusterServiceVersion)
	if got := csv.GetAPIVersion(); got != operatorsv1alpha1.ClusterServiceVersionAPIVersion {
		r.addFieldProblem(WrongCSVGroup, csv, "apiVersion", fmt.Sprintf("is %q, which no cluster knows as a ClusterServiceVersion", got), "write "+operatorsv1alpha1.ClusterServiceVersionAPIVersion)
	}
}

// cause returns an error without the operation and the path, which the message has already.
func cause(err error) error {
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		return pathError.Err
	}
	return err
}
