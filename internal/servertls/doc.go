// Package servertls keeps the certificates of the listeners: read from files, read
// anew when the files change, and kept as they are while what is there cannot be
// used, such as a certificate whose key is still being written.
package servertls
