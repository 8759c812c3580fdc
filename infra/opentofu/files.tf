# The file system of the checkout: NFS, with the hard links and locks that jobs need.
resource "aws_efs_file_system" "checkout" {
  #checkov:skip=CKV_AWS_184:encrypted with the key that AWS keeps for EFS
  encrypted       = true
  throughput_mode = "elastic"
  lifecycle_policy {
    transition_to_ia = "AFTER_30_DAYS"
  }
}

resource "aws_efs_backup_policy" "checkout" {
  file_system_id = aws_efs_file_system.checkout.id
  backup_policy {
    status = "DISABLED"
  }
}

resource "aws_security_group" "checkout" {
  name        = "tomrl-checkout"
  description = "NFS from the nodes of the cluster"
  vpc_id      = var.vpc
}

resource "aws_vpc_security_group_ingress_rule" "checkout" {
  security_group_id            = aws_security_group.checkout.id
  description                  = "NFS from the nodes of the cluster"
  referenced_security_group_id = var.node_security_group
  ip_protocol                  = "tcp"
  from_port                    = 2049
  to_port                      = 2049
}

resource "aws_efs_mount_target" "checkout" {
  for_each        = toset(var.subnets)
  file_system_id  = aws_efs_file_system.checkout.id
  subnet_id       = each.value
  security_groups = [aws_security_group.checkout.id]
}
