package redisstore

import "strings"

const slotCount = 16384

// slotOf is the cluster slot of a key: CRC16 (XMODEM) of what stands in its
// first braces, else of all of it, modulo 16384. Source: the Redis Cluster
// specification.
func slotOf(key string) int {
	if open := strings.IndexByte(key, '{'); open >= 0 {
		if size := strings.IndexByte(key[open+1:], '}'); size > 0 {
			key = key[open+1 : open+1+size]
		}
	}
	crc := uint16(0)
	for i := range len(key) {
		crc = crc<<8 ^ crcTable[byte(crc>>8)^key[i]]
	}
	return int(crc % slotCount)
}

var crcTable = makeCRCTable()

func makeCRCTable() (table [256]uint16) {
	for i := range table {
		crc := uint16(i) << 8
		for range 8 {
			high := crc & 0x8000
			crc <<= 1
			if high != 0 {
				crc ^= 0x1021
			}
		}
		table[i] = crc
	}
	return table
}
