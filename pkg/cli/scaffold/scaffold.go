// Package scaffold renders the files of a new operator with webhooks on pkg/hosting. It is pure.
package scaffold

import (
	"embed"
	"io/fs"
	"path"
	"strings"
	"text/template"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// The types of webhooks that an operator can have.
const (
	Validating = "validating"
	Mutating   = "mutating"
	Conversion = "conversion"
)

// Types are all types of webhooks.
var Types = []string{Validating, Mutating, Conversion}

//go:embed all:template
var templates embed.FS

// names are the parts of file names that depend on the options.
func (o Options) names() *strings.Replacer {
	return strings.NewReplacer("NAME", o.Name, "GROUP", o.group())
}

// only are the files of operators with a webhook of one type.
var only = map[string]string{
	"validating.go": Validating, "validating_test.go": Validating,
	"mutating.go": Mutating, "mutating_test.go": Mutating,
	"conversion.go": Conversion, "conversion_test.go": Conversion, "GROUP_samples.yaml": Conversion, "sample.yaml": Conversion,
}

// Files returns the content of all files, by their path in the folder of the operator.
func Files(o Options) (map[string]string, error) {
	files := map[string]string{}
	err := fs.WalkDir(templates, "template", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		file := strings.TrimSuffix(strings.TrimPrefix(name, "template/"), ".tmpl")
		if t := only[path.Base(file)]; t != "" && !o.Has(t) {
			return nil
		}
		text, err := render(name, o)
		files[o.names().Replace(file)] = text
		return err
	})
	return files, err
}

func render(name string, o Options) (string, error) {
	text, err := templates.ReadFile(name)
	if err != nil {
		return "", err
	}
	t, err := template.New(name).Delims("[[", "]]").Option("missingkey=error").Parse(string(text))
	if err != nil {
		return "", err
	}
	var rendered strings.Builder
	err = t.Execute(&rendered, o)
	return rendered.String(), err
}

// Paths returns the sorted paths of some files.
func Paths(files map[string]string) []string {
	paths := make([]string, 0, len(files))
	for name := range files {
		paths = append(paths, name)
	}
	return lists.Sorted(paths)
}
