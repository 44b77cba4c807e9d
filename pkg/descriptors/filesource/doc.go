// Package filesource finds rule files in folders and tells when they change.
//
// It looks twice a second rather than waiting for events: edits in place,
// renames, swapped symbolic links (as Kubernetes mounts a ConfigMap), folders
// that appear later and network file systems all look the same to it. A change
// is told when two looks agree, so that a file is rarely seen half-written, and
// only if the content differs.
//
// Rule files end in .yaml, .yml or .json. Files and folders that begin with a
// dot, backups of editors and rule tests (*_test.yaml) are passed over.
// Symbolic links are followed, and a file that can be reached in several ways is
// read once.
package filesource
