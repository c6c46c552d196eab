package bundle

import (
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
)

// What a bundle may be at most. OLM takes a megabyte, compressed; the largest file of the
// bundles that are published has two.
const (
	maxFile  = 8 << 20
	maxSize  = 32 << 20
	maxFiles = 2000
	// maxDocuments is how many YAML documents a bundle may have. A parser needs several kilobytes for each.
	maxDocuments = 10000
)

const (
	metadataFolder  = "metadata"
	manifestsFolder = "manifests"
)

// Read reads the bundle in a folder. The error says all that keeps it from being
// installed.
func Read(dir string) (*Bundle, error) {
	b, err := Inspect(dir)
	if err != nil {
		return nil, err
	}
	return b, b.Err()
}

// Inspect reads the bundle in a folder as far as it can be read: what cannot is among its
// Problems. The error is about the folder itself.
func Inspect(dir string) (*Bundle, error) {
	// A root does not follow symbolic links that lead out of the bundle.
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read as a bundle: %w", dir, cause(err))
	}
	defer root.Close()
	return InspectFS(root.FS(), dir), nil
}

// InspectFS is Inspect for a file system. Source is what messages call it.
func InspectFS(fsys fs.FS, source string) *Bundle {
	b := newBundle(source)
	if err := b.walk(fsys, metadataFolder); err != nil {
		return b
	}
	b.readAnnotations()
	if err := b.walk(fsys, b.manifestsFolder()); err != nil {
		return b
	}
	return b.read()
}

// walk takes the files of a folder, which need not exist.
func (b *Bundle) walk(fsys fs.FS, folder string) error {
	return fs.WalkDir(fsys, folder, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case name == folder && errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			b.unreadable(name, err)
			return nil
		case entry.IsDir():
			return nil
		}
		if err := regular(fsys, name); err != nil {
			b.unreadable(name, err)
			return nil
		}
		return b.addFile(name, func() (io.ReadCloser, error) { return fsys.Open(name) })
	})
}

var errNotRegular = errors.New("it is no regular file")

// regular returns an error for a name that is not a regular file, nor a link to one: to open a named
// pipe would block forever, and a device may be endless.
func regular(fsys fs.FS, name string) error {
	info, err := fs.Stat(fsys, name)
	if err == nil && !info.Mode().IsRegular() {
		return errNotRegular
	}
	return err
}

func newBundle(source string) *Bundle { return &Bundle{Source: source, files: map[string][]byte{}} }

func (b *Bundle) addProblem(kind Kind, file string, line int, detail, remedy string) {
	b.report(Problem{Kind: kind, File: file, Line: line, Detail: detail, Remedy: remedy})
}

func (b *Bundle) unreadable(name string, err error) {
	b.addProblem(BrokenFile, name, 0, "cannot be read: "+cause(err).Error(), "put a plain file in its place that may be read")
}

const oneVersion = "keep one version of one operator: a bundle holds no more"

var errTooBig = errors.New("too big")

// addFile keeps the text of a file, within bounds. The error is errTooBig for a bundle of
// which no more is read.
func (b *Bundle) addFile(name string, open func() (io.ReadCloser, error)) error {
	if len(b.files) == maxFiles {
		b.addProblem(TooBig, "", 0, fmt.Sprintf("has more than %d files", maxFiles), oneVersion)
		return errTooBig
	}
	file, err := open()
	if err != nil {
		b.unreadable(name, err)
		return nil
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	switch {
	case err != nil:
		b.unreadable(name, err)
	case len(text) > maxFile:
		b.addProblem(TooBig, name, 0, fmt.Sprintf("has more than %d MiB, and no cluster takes an object of that size", maxFile>>20), "take it out of the bundle")
	case b.Size+int64(len(text)) > maxSize:
		b.addProblem(TooBig, "", 0, fmt.Sprintf("has more than %d MiB", maxSize>>20), oneVersion)
		return errTooBig
	default:
		b.files[name] = text
		b.Size += int64(len(text))
	}
	return nil
}

// read makes of the files what they mean.
func (b *Bundle) read() *Bundle {
	b.readManifests()
	b.checkWhole()
	b.checkAnnotations()
	b.readMetadata()
	return b
}

// manifestsFolder is the folder that the annotations name; the usual one, if they name none.
func (b *Bundle) manifestsFolder() string {
	named := path.Clean(b.Annotations[manifestsAnnotation])
	if named == "." || named == metadataFolder || !fs.ValidPath(named) {
		return manifestsFolder
	}
	return named
}

// readManifests reads the files of the manifests folder. OLM refuses a bundle for what else
// it finds there.
func (b *Bundle) readManifests() {
	folder := b.manifestsFolder()
	for _, name := range slices.Sorted(maps.Keys(b.files)) {
		within, found := strings.CutPrefix(name, folder+"/")
		switch {
		case !found:
		case strings.Contains(within, "/"):
			b.addProblem(StrayFile, name, 0, "is in a folder of its own, and OLM reads no bundle with one", "move it to "+folder)
		case strings.HasPrefix(within, "."):
			b.addProblem(StrayFile, name, 0, "is hidden, and OLM reads no bundle with hidden files", "remove it")
		default:
			b.parse(name)
		}
	}
}

// checkWhole looks at the bundle as a whole.
func (b *Bundle) checkWhole() {
	b.limitGrantedRules()
	csvs := slices.DeleteFunc(slices.Clone(b.Objects), func(o *Object) bool { return o.GetKind() != operatorsv1alpha1.ClusterServiceVersionKind })
	switch {
	case len(b.Objects) == 0 && len(b.Annotations) == 0 && len(b.Problems) == 0:
		b.addProblem(NotABundle, "", 0, fmt.Sprintf("is no bundle: it has neither %s/ nor %s", manifestsFolder, annotationsFile), "name the folder that has both")
	case len(csvs) == 0 && b.Err() == nil:
		b.addProblem(NoCSV, b.manifestsFolder(), 0, "has no ClusterServiceVersion: a bundle is one, and what it needs", "add it")
	case len(csvs) == 1:
		b.setCSV(csvs[0])
	case len(csvs) > 1:
		var files []string
		for _, csv := range csvs {
			files = append(files, csv.File)
		}
		b.addProblem(SeveralCSVs, b.manifestsFolder(), 0, fmt.Sprintf("has %d ClusterServiceVersions (%s), and a bundle is one version", len(csvs), strings.Join(files, ", ")), "keep one")
	}
}

func (b *Bundle) setCSV(csv *Object) {
	b.CSVObject = csv
	b.CSV, _ = csv.Typed.(*operatorsv1alpha1.ClusterServiceVersion)
	if got := csv.GetAPIVersion(); got != operatorsv1alpha1.ClusterServiceVersionAPIVersion {
		b.Problems = append(b.Problems, Problem{
			Kind: WrongCSVGroup, File: csv.File, Line: csv.Line("apiVersion"), Object: csv, Path: "apiVersion",
			Detail: fmt.Sprintf("is %q, which no cluster knows as a ClusterServiceVersion", got), Remedy: "write " + operatorsv1alpha1.ClusterServiceVersionAPIVersion,
		})
	}
}

// cause leaves out of an error what its reader knows: the operation and the path.
func cause(err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	return err
}
