output "study_role" {
  description = "For the service account tomrl, infra/kubernetes/namespace.yaml."
  value       = aws_iam_role.study.arn
}

output "file_system" {
  description = "For the storage class, infra/kubernetes/storage.yaml."
  value       = aws_efs_file_system.checkout.id
}

output "dvc_remote" {
  description = "For DVC, infra/kubernetes/checkout.yaml."
  value       = "s3://${aws_s3_bucket.results.id}/dvc"
}

output "remove_policy" {
  description = "For whoever removes results."
  value       = aws_iam_policy.remove.arn
}
