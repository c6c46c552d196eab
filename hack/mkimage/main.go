// Command mkimage writes an image archive with one static Go program in it, without
// Docker and on top of no other image:
//
//	go run ./hack/mkimage -o out.tar -t docker.io/olm-webhook-manager/NAME:dev [-user 65532:65532] [-dir /bin] BINARY... [HOSTFILE=/path/in/image ...]
//
// or with the files of a bundle, and the annotations of its metadata as labels:
//
//	go run ./hack/mkimage -o out.tar -t docker.io/olm-webhook-manager/NAME:dev -bundle DIRECTORY
//
// A further file is executable if the file of the host is.
//
// Several binaries are the same program for several architectures: the archive then has an index
// with an image for each. The same input and Go version give the same digest, which it prints. The
// archive is an OCI image layout in a tar file. It has the image under the name with the tag, and
// under the name with the digest.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

func main() {
	out := flag.String("o", "", "archive to write")
	name := flag.String("t", "", "complete name of the image, such as docker.io/olm-webhook-manager/NAME:dev")
	user := flag.String("user", "65532:65532", "user and group that the program runs as")
	dir := flag.String("dir", "/", "folder of the program in the image")
	bundle := flag.String("bundle", "", "directory of a bundle, in place of a binary")
	flag.Usage = usage
	flag.Parse()
	binaries := lists.Filter(flag.Args(), func(argument string) bool { return !strings.Contains(argument, "=") })
	if *out == "" || *name == "" || (len(binaries) == 0) == (*bundle == "") {
		usage()
		os.Exit(2)
	}
	extra := lists.Filter(flag.Args(), func(argument string) bool { return strings.Contains(argument, "=") })
	write := func() (string, error) { return writeImage(*out, *name, content{*user, *dir, extra}, binaries) }
	if *bundle != "" {
		write = func() (string, error) { return writeBundleImage(*out, *name, os.DirFS(*bundle)) }
	}
	digest, err := write()
	if err != nil {
		fmt.Fprintf(os.Stderr, "mkimage: %v\n", err)
		os.Exit(1)
	}
	fmt.Printf("%s %s\n", digest, *name)
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: mkimage -o ARCHIVE -t NAME [-user UID:GID] [-dir DIRECTORY] BINARY... [HOSTFILE=/path/in/image ...]")
	fmt.Fprintln(os.Stderr, "       mkimage -o ARCHIVE -t NAME -bundle DIRECTORY")
	flag.PrintDefaults()
}

// content is what an image of each architecture has.
type content struct {
	user  string   // of the program
	dir   string   // of the program
	extra []string // files: HOSTFILE=/path/in/image
}

// writeImage returns the digest of the image, or of the index if there are several binaries.
func writeImage(out, name string, c content, binaries []string) (string, error) {
	images := make([]v1.Image, 0, len(binaries))
	for _, binary := range binaries {
		image, err := imageOf(binary, c)
		if err != nil {
			return "", err
		}
		images = append(images, image)
	}
	named, err := indexOf(images)
	if err != nil {
		return "", err
	}
	if err := writeArchive(out, name, named); err != nil {
		return "", fmt.Errorf("write %s: %w", out, err)
	}
	digest, err := named.Digest()
	return digest.String(), err
}

func imageOf(binary string, c content) (v1.Image, error) {
	architecture, err := architectureOf(binary)
	if err != nil {
		return nil, err
	}
	program, err := readProgram(binary, c.dir)
	if err != nil {
		return nil, err
	}
	files := []file{program}
	for _, mapping := range c.extra {
		f, err := readMapped(mapping)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return newImage(files, architecture, v1.Config{Entrypoint: []string{program.path}, User: c.user, WorkingDir: "/"})
}
