// Command mkimage writes an image archive with one static Go program in it, without
// Docker and on top of no other image:
//
//	go run ./hack/mkimage -o out.tar -t docker.io/olm-webhook-manager/NAME:dev [-user 65532:65532] BINARY [HOSTFILE=/path/in/image ...]
//
// The same input gives the same digest, which it prints. The archive is an OCI image
// layout in a tar file, and holds the name that it is imported under.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	out := flag.String("o", "", "archive to write")
	name := flag.String("t", "", "complete name of the image, such as docker.io/olm-webhook-manager/NAME:dev")
	user := flag.String("user", "65532:65532", "user and group that the program runs as")
	flag.Usage = usage
	flag.Parse()
	if *out == "" || *name == "" || flag.NArg() == 0 {
		usage()
		os.Exit(2)
	}
	digest, err := writeImage(*out, *name, *user, flag.Arg(0), flag.Args()[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "mkimage: %v\n", err)
		os.Exit(1)
	}
	fmt.Printf("%s %s\n", digest, *name)
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: mkimage -o ARCHIVE -t NAME [-user UID:GID] BINARY [HOSTFILE=/path/in/image ...]")
	flag.PrintDefaults()
}

// writeImage returns the digest of the image. Each extra file is HOSTFILE=/path/in/image.
func writeImage(out, name, user, binary string, extra []string) (string, error) {
	architecture, err := architectureOf(binary)
	if err != nil {
		return "", err
	}
	program, err := readProgram(binary)
	if err != nil {
		return "", err
	}
	files := []file{program}
	for _, mapping := range extra {
		f, err := readMapped(mapping)
		if err != nil {
			return "", err
		}
		files = append(files, f)
	}
	image, err := newImage(files, architecture, user, program.path)
	if err != nil {
		return "", err
	}
	if err := writeArchive(out, name, image); err != nil {
		return "", fmt.Errorf("write %s: %w", out, err)
	}
	digest, err := image.Digest()
	return digest.String(), err
}
